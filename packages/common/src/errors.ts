// What does a failure look like on the wire? The error envelope of the specification ("Error envelope"), as value and as JSON Schema.

export interface Problem {
  readonly code: string;
  readonly description: string;
  readonly moreInfo: string;
  readonly contextData: Readonly<Record<string, unknown>>;
}

export interface ErrorEnvelope {
  readonly errors: readonly Problem[];
}

/** A failure that the client is to see: one HTTP status, one entry per fault. `message` is for the log alone. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly problems: readonly Problem[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    problems: readonly Problem[],
    options: { headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(problems.map((problem) => `${problem.code} ${problem.description}`).join('; '), { cause: options.cause });
    this.status = status;
    this.problems = problems;
    this.headers = options.headers ?? {};
  }
}

export function problem(
  code: string,
  description: string,
  contextData: Record<string, unknown> = {},
  moreInfo = '',
): Problem {
  return { code, description, moreInfo, contextData };
}

export function errorEnvelope(problems: readonly Problem[]): ErrorEnvelope {
  return { errors: problems };
}

export const errorEnvelopeSchema = {
  type: 'object',
  required: ['errors'],
  additionalProperties: false,
  properties: {
    errors: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['code', 'description', 'moreInfo', 'contextData'],
        additionalProperties: false,
        properties: {
          code: { type: 'string', description: 'Stable error code.' },
          description: { type: 'string', description: 'Human-readable text.' },
          moreInfo: { type: 'string', description: 'Additional information; may be empty.' },
          contextData: {
            type: 'object',
            description:
              'Context of the error; errors of a booking name its externalBookingId ("" where there is none).',
            properties: { externalBookingId: { type: 'string' } },
          },
        },
      },
    },
  },
} as const;
