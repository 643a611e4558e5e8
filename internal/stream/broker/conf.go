package broker

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// OwnerAccount is the account on an external server that owns the streams.
const OwnerAccount = "HOOKTRAIL"

// ConfUser is a user in the configuration of a nats-server. It logs in with a key or a password.
type ConfUser struct {
	Role     subjects.Role
	Durable  string // the service's consumer, if any
	EngineOf string
	Key      string // public key
	Name     string
	Password string // environment variable of the server with the password
}

// ConfUsers returns a user for each key in a data directory. If tenant is not empty, consumers may
// only read the events of that tenant.
func ConfUsers(dataDir string, space subjects.Space, tenant string) ([]ConfUser, error) {
	dir := filepath.Join(dataDir, "nats")
	names := map[subjects.Role]string{subjects.Owner: ownerKey}
	for _, role := range subjects.Roles() {
		name, err := keyName(space, role, tenant)
		if err != nil {
			return nil, err
		}
		names[role] = name
	}
	var users []ConfUser
	for _, role := range append([]subjects.Role{subjects.Owner}, subjects.Roles()...) {
		file, err := loadKey(dir, names[role])
		if err != nil {
			return nil, err
		}
		public, err := publicKey(file)
		if err != nil {
			return nil, err
		}
		users = append(users, ConfUser{Role: role, Durable: names[role], Key: public})
	}
	tenants, err := Tenants(dataDir)
	for _, k := range tenants {
		users = append(users, ConfUser{EngineOf: k.Tenant, Key: k.Key})
	}
	return users, err
}

const ownerKey = "owner"

// WriteConf writes the accounts part of a nats-server configuration. The users get the same rights
// as on the embedded server.
func WriteConf(out io.Writer, space subjects.Space, users []ConfUser) error {
	c := conf{w: bufio.NewWriter(out), space: space}
	var tenants []string
	engines := map[string][]ConfUser{}
	c.line(0, "accounts {")
	c.line(1, "%s {", OwnerAccount)
	c.line(2, "jetstream: enabled")
	c.line(2, "users: [")
	for _, u := range users {
		switch {
		case u.EngineOf == "":
			c.user(u, subjects.RoleRights(space, u.Role, u.Durable, ExternalInbox(u.Role)))
		case engines[u.EngineOf] == nil:
			tenants = append(tenants, u.EngineOf)
			fallthrough
		default:
			engines[u.EngineOf] = append(engines[u.EngineOf], u)
		}
	}
	c.line(2, "]")
	if err := c.exports(tenants, engines); err != nil {
		return err
	}
	c.line(1, "}")
	for _, tenant := range tenants {
		if err := c.tenant(tenant, engines[tenant]); err != nil {
			return err
		}
	}
	c.line(0, "}")
	if err := c.w.Flush(); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

type conf struct {
	w     *bufio.Writer
	space subjects.Space
}

func (c *conf) line(depth int, format string, args ...any) {
	fmt.Fprintf(c.w, "%*s"+format+"\n", append([]any{2 * depth, ""}, args...)...)
}

func (c *conf) user(u ConfUser, r subjects.Rights) {
	what := string(u.Role)
	switch {
	case u.EngineOf != "":
		what = "engine of " + strconv.Quote(u.EngineOf)
	case u.Role == subjects.Owner:
		what = "owner: makes the streams"
	}
	c.line(3, "{ # %s", what)
	if u.Key != "" {
		c.line(4, "nkey: %s", u.Key)
	} else {
		c.line(4, "user: %q, password: $%s", u.Name, u.Password)
	}
	if u.EngineOf == "" && u.Role == subjects.Owner {
		c.line(3, "}")
		return
	}
	c.line(4, "permissions {")
	if len(r.Publish) == 0 {
		c.line(5, `publish: {deny: ">"}`)
	} else {
		c.list("publish", r.Publish, r.Deny)
	}
	c.list("subscribe", r.Subscribe, nil)
	if r.Responses {
		c.line(5, "allow_responses: {max: 1, expires: %q}", responseTime)
	}
	c.line(4, "}")
	c.line(3, "}")
}

func (c *conf) list(what string, allow, deny []string) {
	c.line(5, "%s: {allow: [", what)
	for _, s := range allow {
		c.line(6, "%q", s)
	}
	if len(deny) > 0 {
		c.line(5, "], deny: [")
		for _, s := range deny {
			c.line(6, "%q", s)
		}
	}
	c.line(5, "]}")
}

func (c *conf) exports(tenants []string, engines map[string][]ConfUser) error {
	if len(tenants) == 0 {
		return nil
	}
	c.line(2, "exports: [")
	for _, tenant := range tenants {
		routes, err := subjects.TenantRoutes(c.space, tenant)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, r := range routes {
			if !seen[r.To] {
				c.line(3, "{service: %q, accounts: [%s]}", r.To, strings.Join(quotedAccounts(tenant, len(engines[tenant])), ", "))
			}
			seen[r.To] = true
		}
	}
	c.line(2, "]")
	return nil
}

// tenant writes a separate account for each key of an engine, because clients of one account can
// read each other's replies.
func (c *conf) tenant(tenant string, engines []ConfUser) error {
	routes, err := subjects.TenantRoutes(c.space, tenant)
	if err != nil {
		return err
	}
	rights := subjects.RouteRights(c.space, routes)
	for i, account := range quotedAccounts(tenant, len(engines)) {
		c.line(1, "%s {", account)
		c.line(2, "limits: {max_connections: %d}", max(maxOfAccount/len(engines), 1))
		c.line(2, "users: [")
		c.user(engines[i], rights)
		c.line(2, "]")
		c.line(2, "imports: [")
		for _, r := range routes {
			c.line(3, "{service: {account: %s, subject: %q}, to: %q}", OwnerAccount, r.To, r.From)
		}
		c.line(2, "]")
		c.line(1, "}")
	}
	return nil
}

func quotedAccounts(tenant string, keys int) []string {
	var names []string
	for i := range keys {
		name := tenantAccount(tenant)
		if i > 0 {
			name += "/" + strconv.Itoa(i+1)
		}
		names = append(names, strconv.Quote(name))
	}
	return names
}

func tenantAccount(tenant string) string {
	token, err := subjects.Token(tenant)
	if err != nil {
		return "TENANT" // not reached, because TenantRoutes fails first
	}
	return "TENANT_" + token
}
