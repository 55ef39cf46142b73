import type { SessionId, TenantId } from '../identity/ids.ts';

/** One key for a tenant's session. The length keeps apart what would read the same when put together. */
export const tenantKey = (tenant: TenantId, session: SessionId): string => `${tenant.length}:${tenant}:${session}`;
