package broker

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// authenticator decides which clients the embedded server accepts, and with which rights:
//
//	owner, with the secret of the server    all rights
//	services, with a key in keys            the rights of their role
//	engines, with a key in tenants          an account with the routes of their tenant
//	clients without credentials             the account LOCAL, or they are rejected
//
// It reads the key files for each new connection, so changes take effect at once.
type authenticator struct {
	dir      string
	secret   string
	space    subjects.Space
	required bool
	log      *slog.Logger

	server *server.Server

	mu       sync.Mutex // guards accounts and clients; may be held while the server takes its own locks
	accounts map[string]*server.Account
	clients  map[uint64]restrictedClient // by connection id
}

// Check implements server.Authentication.
func (a *authenticator) Check(c server.ClientAuthentication) bool {
	if c.Kind() != server.CLIENT {
		return false
	}
	u, err := a.user(c)
	if err != nil {
		a.log.Warn("broker rejected a client", "address", c.RemoteAddress().String(), "error", err)
		return false
	}
	c.RegisterUser(u)
	return true
}

var (
	errCredentials = errors.New("credentials are required")
	errUnknown     = errors.New("unknown credentials")
)

func (a *authenticator) user(c server.ClientAuthentication) (*server.User, error) {
	o := c.GetOpts()
	switch {
	case o.Nkey != "":
		if !verified(o, c.GetNonce()) {
			return nil, errUnknown
		}
		return a.keyUser(c, o.Nkey)
	case o.Username == serviceUser && subtle.ConstantTimeCompare([]byte(o.Password), []byte(a.secret)) == 1:
		return &server.User{Username: serviceUser}, nil
	case o.Username != "" || o.Password != "" || o.Token != "" || o.JWT != "":
		return nil, errUnknown
	case a.required:
		return nil, errCredentials
	}
	return a.admit(c, loopbackUser, restrictedClient{account: localAccount}, subjects.LocalRoutes(a.space))
}

func verified(o *server.ClientOpts, nonce []byte) bool {
	signature, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil {
		signature, err = base64.StdEncoding.DecodeString(o.Sig)
	}
	if err != nil || len(nonce) == 0 || !nkeys.IsValidPublicUserKey(o.Nkey) {
		return false
	}
	key, err := nkeys.FromPublicKey(o.Nkey)
	return err == nil && key.Verify(nonce, signature) == nil
}

func (a *authenticator) keyUser(c server.ClientAuthentication, key string) (*server.User, error) {
	if name, ok := keyOwner(a.dir, key); ok {
		role, durable, ok := roleOf(name)
		if !ok {
			return nil, errUnknown
		}
		rights := subjects.RoleRights(a.space, role, durable, inboxOf(role))
		// A service that connects by URL receives replies on these subjects. Only services can read
		// them.
		rights.Subscribe = append(rights.Subscribe, ExternalInbox(role)+".>")
		return &server.User{Username: name, Permissions: permissions(rights)}, nil
	}
	k, err := readTenant(a.dir, key)
	if err != nil {
		return nil, errUnknown
	}
	routes, err := subjects.TenantRoutes(a.space, k.Tenant)
	if err != nil {
		return nil, err
	}
	return a.admit(c, key, restrictedClient{account: tenantAccount(k.Tenant), key: key}, routes)
}

func inboxOf(role subjects.Role) string { return subjects.ServiceInbox + "." + string(role) }

func permissions(r subjects.Rights) *server.Permissions {
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.Publish, Deny: r.Deny},
		Subscribe: &server.SubjectPermission{Allow: r.Subscribe},
	}
	if len(r.Publish) == 0 {
		p.Publish.Deny = []string{">"} // an empty list would allow all subjects
	}
	if r.Responses {
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: responseTime}
	}
	return p
}

const responseTime = 5 * time.Minute
