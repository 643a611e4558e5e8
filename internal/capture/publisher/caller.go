package publisher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/problem"
	"github.com/hooktrail/hooktrail/internal/capture/tokens"
)

type callerKey struct{}

// TenantOf returns the tenant to which the caller of a request is limited. It returns "" if the
// caller may act for any tenant.
func TenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(callerKey{}).(string)
	return tenant
}

func withTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, callerKey{}, tenant)
}

func (h *handler) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tenant, err := h.tenantOf(r)
		switch {
		case err == nil:
			next(w, r.WithContext(withTenant(r.Context(), tenant)))
		case errors.Is(err, tokens.ErrRequired), errors.Is(err, tokens.ErrUnknown):
			w.Header().Set("WWW-Authenticate", `Bearer realm="hooktrail"`)
			h.refuse(w, r, problem.Problem{Status: http.StatusUnauthorized, Detail: err.Error() + "; send Authorization: Bearer TOKEN with a token that publisher token create has made"}, nil)
		case errors.Is(err, errOtherTenant):
			h.refuse(w, r, problem.Problem{Status: http.StatusForbidden, Detail: err.Error()}, nil)
		default:
			h.refuse(w, r, problem.Problem{Status: http.StatusServiceUnavailable, Detail: "tokens cannot be checked at present"}, err)
		}
	}
}

var errOtherTenant = errors.New("the token is of another tenant")

func (h *handler) tenantOf(r *http.Request) (string, error) {
	if h.opts.Tokens == nil {
		return h.opts.Tenant, nil
	}
	token, err := h.opts.Tokens.Check(bearerToken(r.Header))
	switch {
	case err != nil:
		return "", err
	case token.Tenant == "":
		return h.opts.Tenant, nil // tokens are not required
	case h.opts.Tenant != "" && token.Tenant != h.opts.Tenant:
		return "", fmt.Errorf("%w: those of %q only are served here", errOtherTenant, h.opts.Tenant)
	}
	return token.Tenant, nil
}

func bearerToken(header http.Header) tokens.Secret {
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return tokens.Secret(strings.TrimSpace(token))
}
