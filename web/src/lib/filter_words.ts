// What a list is filtered for, in one line: "Failed, Zeego left, 2026-03-01, “b77”".
export function filterWords(chosen: { state: string; station_name: string; protocol: string; day: string; text: string }): string {
  const parts = [chosen.state, chosen.station_name, chosen.protocol, chosen.day, chosen.text && `“${chosen.text}”`];
  return parts.filter(Boolean).join(', ') || 'none';
}
