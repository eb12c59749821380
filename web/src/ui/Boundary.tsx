import { Component, type ComponentChildren } from "preact";
import { formatRoute, route } from "../state/route";

interface Failed { error: Error | null; address: string }

/** Shows what is inside it; what fails there takes only its own address down, and says so. */
export class Boundary extends Component<{ children: ComponentChildren }, Failed> {
  override state: Failed = { error: null, address: "" };

  static override getDerivedStateFromError(error: Error): Failed {
    return { error, address: formatRoute(route.peek()) };
  }

  override componentDidCatch(error: Error): void {
    console.error(error);
  }

  override render() {
    const { error, address } = this.state;
    if (!error || address !== formatRoute(route.value)) return this.props.children;
    return (
      <section class="note error" role="alert">
        <h2>This view failed</h2>
        <p>{error.message}</p>
        <p>The run is untouched and the other views still work. Clear the filter or the range, or reload the page; where it fails again, please report it.</p>
      </section>
    );
  }
}
