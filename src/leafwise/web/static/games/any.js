// Any game: the server's drawing, and a button for each action. index.js describes the interface.

import { h } from "../dom.js";

export const needsSvg = true;

export function makeBoard(host, about, act) {
  const picture = h("div", { class: "picture" });
  const buttons = h("div", { class: "buttons", role: "group", "aria-label": "Actions" });
  host.append(picture, buttons);
  return {
    show(state, marks) {
      const image = new DOMParser().parseFromString(state.svg || "", "image/svg+xml").documentElement;
      picture.replaceChildren(state.svg ? document.importNode(image, true) : h("pre", {}, state.board));
      buttons.replaceChildren(
        ...(marks.live || marks.worths ? state.actions : []).map((name) =>
          h(
            "button",
            { class: marks.best === name ? "best" : null, "data-action": name, disabled: !marks.live, onclick: () => act(name) },
            state.words?.[name] ?? name,
            marks.worths ? h("small", {}, ` ${marks.worths[name] ?? ""}`) : null,
          ),
        ),
      );
    },
  };
}
