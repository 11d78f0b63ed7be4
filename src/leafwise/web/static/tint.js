/** Returns the colour of an action by its share: 1 for the best, 0 and less for a blunder; "" without a share. */
export function tint(share) {
  return share === undefined || share === null ? "" : `hsl(${(120 * Math.max(0, Math.min(1, share))).toFixed(0)} 60% 76%)`;
}

/** Returns a value without its percent sign, for narrow places. */
export const brief = (worth) => (worth === undefined ? "" : worth.replace(" %", ""));
