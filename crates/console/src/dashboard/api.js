// Questions to the console, changes, and the token that changes need.

/** Why there is no answer: problem+json (RFC 9457), or that nobody answers. */
export class Problem extends Error {
  constructor({ title, status, detail, at, todo }) {
    super(detail);
    Object.assign(this, { name: "Problem", title: title ?? "Refused", status, detail: detail ?? "", at, todo });
  }
}

const SILENCE = {
  title: "No answer",
  detail: "The console does not answer.",
  todo: "see whether recrawl serve still runs",
};

/** Asks, and gives the document of the answer. */
export async function ask(path, { method = "GET", body, headers = {}, signal } = {}) {
  const sent = body === undefined ? {} : { "Content-Type": "application/json" };
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      headers: { ...headers, ...sent },
      body: body && JSON.stringify(body),
    });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Problem(SILENCE);
  }
  const document = await answer.json().catch(() => null);
  if (answer.ok && document !== null) return document;
  throw new Problem(document ?? { title: answer.statusText, status: answer.status, detail: `${path} brought no JSON` });
}

/** A query, encoded; what is empty is left out. */
export function query(path, parameters) {
  const some = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return some.length === 0 ? path : `${path}?${new URLSearchParams(some)}`;
}

// In the memory of this tab, and nowhere else.
let token = null;

/** Does this tab have a token? */
export const hasToken = () => token !== null;

/** The next change asks for a token again. */
export function forgetToken() {
  token = null;
}

/** Asks for a change with the token; none where the reader does not give one. */
export async function change(method, path, body) {
  const mine = token ?? (await askForToken());
  if (mine === null) return null;
  try {
    const accepted = await ask(path, { method, body, headers: { Authorization: `Bearer ${mine}` } });
    token = mine;
    return accepted;
  } catch (refusal) {
    if (refusal.status === 401) forgetToken();
    else if (refusal.status !== undefined && refusal.status !== 403) token = mine;
    throw refusal;
  }
}

function askForToken() {
  const [dialog, form, text, wrong, cancel] = ["token", "token-form", "token-text", "token-wrong", "token-cancel"].map(
    (id) => document.getElementById(id),
  );
  return new Promise((resolve) => {
    let given = null;
    wrong.textContent = "";
    text.value = "";
    form.onsubmit = (event) => {
      event.preventDefault();
      const typed = text.value.trim();
      // Other characters cannot stand in a header.
      if (/^[\x21-\x7e]+$/.test(typed)) {
        given = typed;
        dialog.close();
      } else {
        wrong.textContent = "A token is one word, without spaces.";
        text.focus();
      }
    };
    cancel.onclick = () => dialog.close();
    dialog.onclose = () => {
      text.value = "";
      resolve(given);
    };
    dialog.showModal();
  });
}
