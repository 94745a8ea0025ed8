// Defines the error envelope, the body of every error response (specification, "Error envelope").

export interface Problem {
  readonly code: string;
  readonly description: string;
  readonly moreInfo: string;
  readonly contextData: Readonly<Record<string, unknown>>;
}

/** `message` and `cause` appear only in the log. */
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
    super(problems.map(({ code, description }) => `${code} ${description}`).join('; '), { cause: options.cause });
    this.status = status;
    this.problems = problems;
    this.headers = options.headers ?? {};
  }
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
            description: 'What the texts say, for programs.',
            properties: {
              externalBookingId: { type: 'string', description: 'In errors of a booking; "" where there is none.' },
              index: { type: 'integer', description: 'In errors of a group: the position of the booking, from 0.' },
              field: { type: 'string', description: 'The parameter, or the path of a field inside the body.' },
              heldUntil: { type: 'string', description: 'When the conflicting hold ends, UTC.' },
              closure: {
                type: 'string',
                description: 'The reason of the closure, blocked without a reason, or closed outside opening hours.',
              },
            },
          },
        },
      },
    },
  },
} as const;
