// Keeps the last 50 e-mails of auth in memory for the demo page.

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export type KeptMail = Mail & { readonly at: Date };

const maxMails = 50;

export type Mails = ReturnType<typeof createMails>;

export function createMails() {
  let mails: readonly KeptMail[] = [];
  return {
    add: (mail: Mail): void => {
      mails = [{ ...mail, at: new Date() }, ...mails].slice(0, maxMails);
    },
    list: () => mails,
  };
}
