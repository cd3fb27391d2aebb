/** The whole rendering library: JSX becomes DOM nodes at once, and a page is drawn anew when it changes. */

export type Child = Node | string | number | false | null | undefined | Child[];

interface Attributes {
  id?: string;
  class?: string;
  role?: string;
  href?: string;
  for?: string;
  type?: string;
  name?: string;
  value?: string | number;
  min?: number;
  max?: number;
  placeholder?: string;
  autocomplete?: string;
  inputmode?: string;
  required?: boolean;
  checked?: boolean;
  disabled?: boolean;
  selected?: boolean;
  onclick?: (event: MouseEvent) => void;
  onchange?: (event: Event) => void;
  onsubmit?: (event: SubmitEvent) => void;
  children?: Child;
}

declare global {
  namespace JSX {
    type Element = HTMLElement;
    type IntrinsicElements = { [tag in keyof HTMLElementTagNameMap]: Attributes };
    interface ElementChildrenAttribute {
      children: unknown;
    }
  }
}

type Component<P> = (props: P & { children?: Child }) => HTMLElement;

export function h<P extends object>(
  tag: string | Component<P>,
  props: (P & Record<string, unknown>) | null,
  ...children: Child[]
): HTMLElement {
  if (typeof tag === "function") {
    return tag({ ...(props as P), children });
  }
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value != null) {
      element.setAttribute(name, String(value));
    }
  }
  append(element, children);
  return element;
}

function append(parent: HTMLElement, child: Child): void {
  if (Array.isArray(child)) {
    child.forEach((one) => append(parent, one));
  } else if (child instanceof Node) {
    parent.append(child);
  } else if (child !== false && child != null) {
    parent.append(String(child));
  }
}
