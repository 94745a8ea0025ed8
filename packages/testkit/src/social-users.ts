// Lists the users of the stand-in social providers. The sign-in page of a stand-in lets you choose one of them.

export interface SocialUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

export const socialUsers: readonly SocialUser[] = [
  { id: '100001', name: 'Ada Fairway', email: 'ada@social.example' },
  { id: '100002', name: 'Ben Bunker', email: 'ben@social.example' },
  // This user has the e-mail address of a demo account. Signing in as this user must not give access to that account.
  { id: '100003', name: 'Not Pat Player', email: 'player@example.com' },
];
