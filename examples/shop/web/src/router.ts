import { showError } from "./components/Alert.js";

/** A page that sends the shopper elsewhere returns null: the other page is drawn already. */
export type Page = (params: Record<string, string>) => Promise<HTMLElement | null>;

export interface Route {
  path: RegExp;
  title: string;
  page: Page;
}

let draw: () => Promise<void> = async () => {};

export function start(routes: Route[], target: HTMLElement, afterDraw: () => Promise<void>): Promise<void> {
  draw = async () => {
    for (const route of routes) {
      const match = route.path.exec(location.pathname);
      if (match) {
        try {
          const content = await route.page(match.groups ?? {});
          if (content) {
            document.title = `${route.title} – Shop`;
            target.replaceChildren(content);
          }
        } catch (error) {
          showError(target, error);
        }
        await afterDraw();
        return;
      }
    }
    target.replaceChildren("Page not found");
  };
  addEventListener("popstate", () => void draw());
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='/']") : null;
    if (link && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      void navigate(link.getAttribute("href") ?? "/");
    }
  });
  return draw();
}

export function navigate(path: string): Promise<void> {
  history.pushState(null, "", path);
  return draw();
}

export function redraw(): Promise<void> {
  return draw();
}
