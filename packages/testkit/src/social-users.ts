// Who has an account at the stand-in social providers? Made-up people; whoever holds the browser chooses which one to be.

export interface SocialUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

export const socialUsers: readonly SocialUser[] = [
  { id: '100001', name: 'Ada Fairway', email: 'ada@social.example' },
  { id: '100002', name: 'Ben Bunker', email: 'ben@social.example' },
  // The same address as an account of the demo, which must not be joined by it.
  { id: '100003', name: 'Not Pat Player', email: 'player@example.com' },
];
