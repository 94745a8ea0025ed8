// The users of the stand-in social providers. Whoever uses the browser chooses which of them to be.

export interface SocialUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

export const socialUsers: readonly SocialUser[] = [
  { id: '100001', name: 'Ada Fairway', email: 'ada@social.example' },
  { id: '100002', name: 'Ben Bunker', email: 'ben@social.example' },
  // Has the e-mail address of a demo account. A sign-in must not use that account.
  { id: '100003', name: 'Not Pat Player', email: 'player@example.com' },
];
