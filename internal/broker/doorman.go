package broker

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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
//	everybody else                          what a publisher may, or nothing
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
	engines  map[uint64]string // connections of tenants, and the keys that they came with
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
	return &server.User{Username: loopbackUser, Permissions: permissions(subjects.Rights{
		Publish: d.space.PublisherRights(), Subscribe: []string{subjects.LoopbackInbox + ".>"},
	})}, nil
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
	account, err := d.account(k.Tenant)
	if err != nil {
		return nil, err
	}
	rights, err := d.space.TenantRights(k.Tenant)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.engines[c.GetID()] = key
	return &server.User{Username: key, Account: account, Permissions: permissions(rights)}, nil
}

// inboxOf is the inbox prefix of a role on the embedded server.
func inboxOf(role subjects.Role) string { return subjects.ServiceInbox + "." + string(role) }

// account returns a tenant's account. What is published there goes nowhere but
// the tenant's own ways out.
func (d *doorman) account(tenant string) (*server.Account, error) {
	routes, err := d.space.Routes(tenant)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a, ok := d.accounts[tenant]; ok {
		return a, nil
	}
	owner := d.server.GlobalAccount()
	a, _ := d.server.LookupOrRegisterAccount(tenantAccount(tenant))
	for _, r := range routes {
		err := owner.AddServiceExport(r.To, []*server.Account{a})
		if err == nil {
			err = a.AddServiceImport(owner, r.From, r.To)
		}
		if err != nil {
			return nil, fmt.Errorf("account of tenant %q: %s: %w", tenant, r.From, err)
		}
	}
	d.accounts[tenant] = a
	return a, nil
}

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

// revokeEvery is how often keys are looked for that were taken back.
const revokeEvery = time.Second

// watch cuts off who is connected with a key that was taken back, until stop is
// closed.
func (d *doorman) watch(stop <-chan struct{}) {
	tick := time.NewTicker(revokeEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			d.revoke()
		}
	}
}

func (d *doorman) revoke() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, key := range d.engines {
		if d.server.GetClient(id) == nil {
			delete(d.engines, id)
			continue
		}
		if _, err := os.Stat(filepath.Join(tenantDir(d.dir), key+tenantEnding)); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := d.server.DisconnectClientByID(id); err == nil {
			d.log.Info("broker cut off a client whose key was taken back", "key", key)
		}
		delete(d.engines, id)
	}
}
