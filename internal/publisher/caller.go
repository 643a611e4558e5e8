package publisher

import "context"

// callerKey is the key of the caller's tenant in the context of a request.
type callerKey struct{}

// TenantOf returns the only tenant that the caller of a request may write and
// ask for: that of its token, else the one that this publisher takes alone. It is
// empty where the caller may name any. Handlers that [Handler] mounts get it in
// the context of their requests, and refuse what names another one.
func TenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(callerKey{}).(string)
	return tenant
}

// withTenant returns a context of which TenantOf is tenant.
func withTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, callerKey{}, tenant)
}
