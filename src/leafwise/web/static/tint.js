/** Returns the colour of an action by its share: 1 for the best, 0 and less where it is a blunder; "" where nothing is known of it. */
export function tint(share) {
  return share === undefined || share === null ? "" : `hsl(${(120 * Math.max(0, Math.min(1, share))).toFixed(0)} 60% 76%)`;
}

/** Returns a worth without its percent sign, for where there is little room. */
export const brief = (worth) => (worth === undefined ? "" : worth.replace(" %", ""));
