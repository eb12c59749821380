/** Takes the token out of the address: it came as a cookie too, and a link is not to give it away. */
export function hideToken(): void {
  if (!new URLSearchParams(location.search).has("token")) return;
  history.replaceState(history.state, "", location.pathname + location.hash);
}
