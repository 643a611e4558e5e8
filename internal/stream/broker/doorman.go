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

// doorman tells the embedded server who may connect, and with which rights:
//
//	the owner, with the server's secret     everything
//	services, with a key in keys            what their role needs
//	engines, with a key in tenants          their tenant's account, and the ways out of it
//	everybody else                          an account of strangers, and the ways out of it, or nothing
//
// It looks at the files whenever somebody connects.
type doorman struct {
	dir    string
	secret string
	space  subjects.Space
	closed bool // who has no credentials is sent away
	log    *slog.Logger

	server *server.Server // set before it starts

	mu       sync.Mutex // guards what follows
	accounts map[string]*server.Account
	guests   map[uint64]guest // by connection
}

// Check implements server.Authentication.
func (d *doorman) Check(c server.ClientAuthentication) bool {
	if c.Kind() != server.CLIENT {
		return false
	}
	u, err := d.user(c)
	if err != nil {
		d.log.Warn("broker turned a client away", "address", c.RemoteAddress().String(), "error", err)
		return false
	}
	c.RegisterUser(u)
	return true
}

var (
	errCredentials = errors.New("it came without credentials, and they are required")
	errUnknown     = errors.New("its credentials are of nobody here")
)

// user returns who c is.
func (d *doorman) user(c server.ClientAuthentication) (*server.User, error) {
	o := c.GetOpts()
	switch {
	case o.Nkey != "":
		if !verified(o, c.GetNonce()) {
			return nil, errUnknown
		}
		return d.holder(c, o.Nkey)
	case o.Username == serviceUser && subtle.ConstantTimeCompare([]byte(o.Password), []byte(d.secret)) == 1:
		return &server.User{Username: serviceUser}, nil
	case o.Username != "" || o.Password != "" || o.Token != "" || o.JWT != "":
		return nil, errUnknown
	case d.closed:
		return nil, errCredentials
	}
	return d.admit(c, loopbackUser, guest{account: localAccount}, d.space.LocalRoutes())
}

// verified reports whether a client has the key that it says it has.
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

// holder returns who has a key.
func (d *doorman) holder(c server.ClientAuthentication, key string) (*server.User, error) {
	if name, ok := keyOwner(d.dir, key); ok {
		role, durable, ok := roleOf(name)
		if !ok {
			return nil, errUnknown
		}
		return &server.User{Username: name, Permissions: permissions(d.space.Rights(role, durable, inboxOf(role)))}, nil
	}
	k, err := readTenant(d.dir, key)
	if err != nil {
		return nil, errUnknown
	}
	routes, err := d.space.Routes(k.Tenant)
	if err != nil {
		return nil, err
	}
	return d.admit(c, key, guest{account: tenantAccount(k.Tenant), key: key}, routes)
}

// inboxOf is the inbox prefix of a role on the embedded server.
func inboxOf(role subjects.Role) string { return subjects.ServiceInbox + "." + string(role) }

func permissions(r subjects.Rights) *server.Permissions {
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: r.Publish},
		Subscribe: &server.SubjectPermission{Allow: r.Subscribe},
	}
	if len(r.Publish) == 0 {
		p.Publish.Deny = []string{">"} // no list at all allows everything
	}
	if r.Responses {
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: responseTime}
	}
	return p
}

// responseTime is how long a request may be answered.
const responseTime = 5 * time.Minute
