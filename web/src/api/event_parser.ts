// Server-sent events from a byte stream: WHATWG HTML, section "Interpreting an event stream".

export interface ServerEvent {
  event: string;
  data: string;
}

export class EventParser {
  // Sticks to the stream: what a reconnection sends as Last-Event-ID.
  lastEventId: string | null = null;
  private rest = '';
  private event = '';
  private data: string[] = [];
  private id: string | null = null;

  // Text as it arrives, cut anywhere; the events that it completes.
  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.rest += text;
    for (;;) {
      const end = this.rest.search(/[\r\n]/);
      if (end < 0) break;
      // A carriage return at the end may be the first half of CRLF.
      if (this.rest[end] === '\r' && end + 1 === this.rest.length) break;
      const length = this.rest.startsWith('\r\n', end) ? 2 : 1;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + length);
      if (line === '') this.dispatch(events);
      else this.field(line);
    }
    return events;
  }

  private field(line: string): void {
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.event = value;
    else if (name === 'data') this.data.push(value);
    else if (name === 'id' && !value.includes('\0')) this.id = value;
  }

  private dispatch(events: ServerEvent[]): void {
    if (this.id !== null) this.lastEventId = this.id;
    if (this.data.length > 0) events.push({ event: this.event || 'message', data: this.data.join('\n') });
    this.event = '';
    this.data = [];
  }
}
