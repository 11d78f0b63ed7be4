// Elements in a line: h("button", {onclick: f, class: "x"}, "text"), and svg("circle", {r: 3}) alike.

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

/** Returns an SVG element with attributes, listeners and children; one with a name for screen readers and no role is a picture. */
export function svg(name, attributes, ...children) {
  const role = attributes?.role || (attributes?.["aria-label"] ? "img" : null);
  return fill(document.createElementNS(SVG, name), { ...attributes, role }, children);
}

let fading;

/** Shows a line about what is waited for until it is over ("") or nothing more is heard of it. */
export function tell(text) {
  const line = document.getElementById("told");
  line.textContent = text;
  line.hidden = !text;
  clearTimeout(fading);
  fading = setTimeout(() => {
    line.hidden = true;
  }, 5000);
}

/** Returns a text that begins with a capital letter. */
export const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Returns the options of a select: those that may be chosen, and those that cannot be used with what is wrong. */
export const offered = (usable, unusable) => [
  ...usable.map((one) => [one.name, one.title]),
  ...unusable.map((one) => [one.name, `${one.title} cannot be used: ${one.wrong}`, true]),
];

/** Returns a labelled select: options are [value, title] or, for one that cannot be chosen, [value, title, true]. */
export function select(label, options, value, onchange) {
  const list = h(
    "select",
    { onchange: (event) => onchange(event.target.value) },
    options.map(([name, title, disabled]) => h("option", { value: name, selected: name === value, disabled }, title)),
  );
  return h("label", {}, label + " ", list);
}

/** Copies a text; where the browser keeps its clipboard for encrypted pages, by a selection. */
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

let pressed = false; // a button or a board, by the pointer
const delayed = new Set(); // what is to be drawn after its release

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
        // the click comes first
        for (const draw of delayed) keepingFocus(draw);
        delayed.clear();
      });
    },
    ending !== "blur",
  ); // of the window alone
}

/** Draws, and gives the focus to what stands now for what had it. */
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

/** Returns a drawing that waits for the release of what is pressed: what is drawn anew between press and release hears no click. */
export const betweenClicks = (draw) => () => (pressed ? delayed.add(draw) : keepingFocus(draw));

/** Shows one line about what went wrong, with a button where asking `again` may help; "" takes it away. */
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

/** Runs what a person asked for; a problem becomes one line on the page, with a button where it may pass. */
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
