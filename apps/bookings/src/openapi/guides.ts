// Writes the short guides at the beginning of the API reference, in Markdown.

export interface GuideAddresses {
  readonly baseUrl: string;
  readonly authIssuer: string;
  readonly scope: string;
}

export function writeGuides({ baseUrl, authIssuer, scope }: GuideAddresses): string {
  return `## First request

Create a personal access token in the [portal](${authIssuer}/portal). Its id and secret get an access token, which every request needs:

\`\`\`sh
curl -sS ${authIssuer}/connect/token -u 'ID:SECRET' -d grant_type=client_credentials -d scope=${scope}
curl -sS ${baseUrl}/api/booking-locations -H "Authorization: Bearer $TOKEN"
\`\`\`

Below, **Authorize** does the same, and **Try it out** sends requests. The [guide](${baseUrl}/guide) continues with
bookings, holds, changes and webhooks.

## Pages

A list has \`items\`, \`page\`, \`pageSize\`, \`pageCount\` and \`total\`. Follow \`_links.next.href\` until it is missing, instead of
counting pages. To copy all bookings, [follow the changes](${baseUrl}/guide#follow-changes).

## Dates and zones

Send date-times with a zone or in UTC: \`2026-08-01T10:00:00Z\`, or \`2026-08-01T12:00:00+02:00\`. In a query, write \`+\` as
\`%2B\`. Responses are in UTC. Opening hours are times of day in the zone of the facility. Bookings are half-open: one may
start when another one ends.

## Errors

An error response lists all problems that were found. Each has a \`code\` for programs and a \`description\` for people;
\`moreInfo\` says more. During development, send \`Prefer: handling=strict\`: a misspelt name is then an error instead of
ignored. The [guide](${baseUrl}/guide#errors) says what to do about each code.

## Repeating a request safely

GET, PUT and DELETE can be repeated. Send a POST with a new \`Idempotency-Key\`, such as a UUID; if the response is lost,
repeat the request with the same key and body. For 24 hours, you get the first response again, and nothing is booked
twice:

\`\`\`sh
curl -sS ${baseUrl}/api/bookings -H "Authorization: Bearer $TOKEN" -H "Idempotency-Key: $KEY" \\
  -H 'Prefer: handling=strict' -H 'Content-Type: application/json' -d "$BODY"
\`\`\``;
}
