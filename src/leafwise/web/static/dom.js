// Elements in one line: h("button", {onclick: f, class: "x"}, "text"), svg("circle", {r: 3}).

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Returns an HTML element with attributes, listeners (`onclick`) and children. */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Returns an SVG element with attributes, listeners and children. With an aria-label and no role it is an image. */
export function svg(name, attributes, ...children) {
  const role = attributes?.role || (attributes?.["aria-label"] ? "img" : null);
  return fill(document.createElementNS(SVG, name), { ...attributes, role }, children);
}

let fading;

/** Shows a line on work in progress, until "" or for five seconds. */
export function tell(text) {
  const line = document.getElementById("told");
  line.textContent = text;
  line.hidden = !text;
  clearTimeout(fading);
  fading = setTimeout(() => {
    line.hidden = true;
  }, 5000);
}

/** Capitalizes a text. */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Returns the options of a select: usable ones, and unusable ones with the reason. */
export const offered = (usable, unusable) => [
  ...usable.map((one) => [one.name, one.title]),
  ...unusable.map((one) => [one.name, `${one.title} cannot be used: ${one.wrong}`, true]),
];

/** Returns a labelled select: options are [value, title], or [value, title, true] for a disabled one. */
export function select(label, options, value, onchange) {
  const list = h(
    "select",
    { onchange: (event) => onchange(event.target.value) },
    options.map(([name, title, disabled]) => h("option", { value: name, selected: name === value, disabled }, title)),
  );
  return h("label", {}, label + " ", list);
}

/** Copies a text; by a selection if the browser has no clipboard on unencrypted pages. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea", {});
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Error("the browser does not let the page copy");
  return undefined;
}

let pressed = false; // whether the pointer holds down a button or a board
const delayed = new Set(); // drawings that wait for the release

addEventListener(
  "pointerdown",
  (event) => {
    pressed = event.button === 0 && event.target instanceof Element && Boolean(event.target.closest(".host, button"));
  },
  true,
);
for (const ending of ["pointerup", "pointercancel", "blur"]) {
  addEventListener(
    ending,
    () => {
      pressed = false;
      setTimeout(() => {
        // after the click
        for (const draw of delayed) keepingFocus(draw);
        delayed.clear();
      });
    },
    ending !== "blur",
  ); // for blur: only that of the window
}

/** Draws, and moves the focus to the new element in place of the old one. */
function keepingFocus(draw) {
  const at = /** @type {HTMLElement} */ (document.activeElement),
    name = at?.dataset.action ?? at?.dataset.name,
    text = at?.textContent;
  draw();
  if (!at || at.isConnected) return;
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(at.tagName)]);
  const same = all.find((one) => (name ? name === (one.dataset.action ?? one.dataset.name) : one.textContent === text));
  (same ?? document.getElementById("main")).focus({ preventScroll: true });
}

/** Returns a drawing that waits for the release of the pointer: an element replaced between press and release gets no click. */
export const betweenClicks = (draw) => () => (pressed ? delayed.add(draw) : keepingFocus(draw));

/** Shows a problem in one line, with a button if `again` may help; "" removes it. */
export function complain(text, again = null) {
  const line = document.getElementById("problem");
  line.replaceChildren(
    text,
    again
      ? h(
          "button",
          {
            onclick: () => {
              complain("");
              again();
            },
          },
          "Try again",
        )
      : "",
  );
  line.hidden = !text;
}

/** Runs an action of the user; shows a problem in one line, with a button if it may be temporary. */
export async function trying(work) {
  try {
    return await work();
  } catch (problem) {
    if (problem.name === "AbortError") return undefined;
    complain(problem.message, problem.mayPass ? () => trying(work) : null);
    if (problem.constructor.name !== "Problem") throw problem;
    return undefined;
  }
}
