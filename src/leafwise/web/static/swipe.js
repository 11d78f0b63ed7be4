// Swipes of a finger or the mouse, and arrow keys.

export const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
const FAR = 24;

/** Calls act("up" | "down" | "left" | "right") for every swipe over an element, where the page does not scroll. */
export function onSwipe(element, act) {
  let from = null;
  element.style.touchAction = "none";
  element.addEventListener("pointerdown", (event) => {
    from = [event.clientX, event.clientY];
  });
  element.addEventListener("pointerup", (event) => {
    if (!from) return;
    const [x, y] = [event.clientX - from[0], event.clientY - from[1]];
    from = null;
    if (Math.max(Math.abs(x), Math.abs(y)) < FAR) return;
    act(Math.abs(x) > Math.abs(y) ? (x > 0 ? "right" : "left") : y > 0 ? "down" : "up");
  });
  element.addEventListener("pointercancel", () => {
    from = null;
  });
}

/** Moves a cursor over a grid by arrow keys and calls shown(); Enter or Space calls choose(row, column). */
export function gridKeys(host, size, choose, shown) {
  const at = { row: 0, column: 0, shown: false }; // the cursor appears at the first arrow key
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  host.tabIndex = 0;
  host.addEventListener("keydown", (event) => {
    const step = steps[event.key],
      board = size(); // null if nobody may choose
    if (!board) return;
    if (step) {
      at.shown = true;
      const { rows, columns } = board;
      at.row = (at.row + step[0] + rows) % rows;
      at.column = (at.column + step[1] + columns) % columns;
      shown();
    } else if (event.key === "Enter" || event.key === " ") at.shown && choose(at.row, at.column);
    else return;
    event.preventDefault();
  });
  return at;
}
