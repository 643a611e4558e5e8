package publisher

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
)

var errTenantOfOther = errors.New("tenant: another one than may be asked for here")

func (s *HookService) tenant(ctx context.Context) string {
	return orDefault(cmp.Or(TenantOf(ctx), s.opts.Tenant))
}

func (s *HookService) tenantFor(ctx context.Context, named string) (string, error) {
	own := cmp.Or(TenantOf(ctx), s.opts.Tenant)
	switch {
	case named == "" || named == own:
		return s.tenant(ctx), nil
	case own != "":
		return "", errTenantOfOther
	}
	return named, nil
}

func (s *HookService) contextOf(r *http.Request) (agents.Context, error) {
	named := r.URL.Query().Get("tenant")
	tenant, err := s.tenantFor(r.Context(), named)
	if err == nil && named != "" && TenantOf(r.Context()) == "" {
		err = s.opts.Tenants.Admit(named) // limits the tenants that a caller without a tenant can add
	}
	c := agents.Context{
		Tenant: tenant, Now: time.Now().UTC(), Event: r.URL.Query().Get("event"), CallIDs: s.callIDs, IDKey: s.idKey,
	}
	if key, err := hex.DecodeString(r.Header.Get(hooksocket.IDKeyHeader)); err == nil && len(key) > 0 && UserOf(r.Context()) != "" {
		c.IDKey = key
	}
	return c, err
}
