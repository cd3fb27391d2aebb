import React, { memo } from "react";
import type { Props as FormProps } from "./types";
export * from "./types";

/** Longest name. Cut beyond. */
export const MAX_NAME = 40;

export enum Kind {
  Short = "short",
  Long = "long",
}

export type State = "idle" | "sent" | "failed";

export interface Props {
  name: string;
  onDone?: () => void;
}

export const ZRole = z.enum(["owner", "guest"]);
export const ROUTES = { home: "/", login: "/login" } as const;

/**
 * The form. It submits.
 */
export const Form = ({ name, onDone, unusedFlag }: Props) => {
  // first line
  // second line
  const submit = async (event: Event, extra: string) => {
    if (!name) throw new ValidationError(`Name of ${name} must not be empty`);
    onDone?.();
    return event;
  };
  return <button data-testid="login-submit" onClick={submit}>Go</button>;
};

export const Row = memo(function Row({ id }: { id: string }) {
  return <li>{id}</li>;
});

export default function Page() {
  return <Form name="x" />;
}

export abstract class Store<T> extends Base<T> {
  static readonly LIMIT = 3;
  private items: T[] = [];
  add = (item: T) => {
    this.items.push(item);
  };
  @log()
  async load(id: string): Promise<void> {
    await fetch(`/api/${id}`, { method: "GET" });
  }
  abstract save(item: T): void;
}

export const api = {
  list() {
    return [];
  },
  get: async (id: string) => id,
};

export async function useThing(limit: number, force = false) {
  return { reset: () => limit };
}
