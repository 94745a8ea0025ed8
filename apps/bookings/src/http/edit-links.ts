// The links of a resource that clients can change.
import { linksSchema } from '@bay-booking/common/links';

export const editLinksSchema = linksSchema('self', 'edit', 'delete');
