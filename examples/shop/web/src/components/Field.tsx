import { h } from "../h.js";

interface FieldProps {
  label: string;
  name: string;
  type?: string;
  autocomplete?: string;
  inputmode?: string;
  required?: boolean;
}

export function Field({ label, name, type = "text", ...rest }: FieldProps): HTMLElement {
  return (
    <p class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type={type}
        autocomplete={rest.autocomplete}
        inputmode={rest.inputmode}
        required={rest.required}
      />
    </p>
  );
}
