package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// localAccount is the account of local clients without credentials.
const localAccount = "LOCAL"

// Limits of open connections. They reserve connections for the services.
const (
	maxOfAccount  = 256
	maxRestricted = maxClients - 128
)

// revokeEvery is the interval between two checks for removed keys.
const revokeEvery = time.Second

// restrictedClient is a connection outside the account of the owner: an engine of a
// tenant, or a local client without credentials. The server sends an answer to any
// reply subject with all rights of the account. A restricted client could therefore
// write to any subject of its account, so the account contains only routes.
type restrictedClient struct {
	account string
	key     string // of an engine
}

var errFull = errors.New("too many connections of this account or of all restricted clients")

// admit returns the user of a restricted client with these routes.
func (a *authenticator) admit(c server.ClientAuthentication, name string, r restrictedClient, routes []subjects.Route) (*server.User, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full(r.account) {
		a.forget()
		if a.full(r.account) {
			return nil, errFull
		}
	}
	account, err := a.account(r.account, routes)
	if err != nil {
		return nil, err
	}
	a.clients[c.GetID()] = r
	return &server.User{Username: name, Account: account, Permissions: permissions(subjects.RouteRights(routes))}, nil
}

// full reports whether an account has reached its limit. The caller holds mu.
func (a *authenticator) full(account string) bool {
	n := 0
	for _, r := range a.clients {
		if r.account == account {
			n++
		}
	}
	return n >= maxOfAccount || len(a.clients) >= maxRestricted
}

// forget removes closed connections. The caller holds mu.
func (a *authenticator) forget() {
	for id := range a.clients {
		if a.server.GetClient(id) == nil {
			delete(a.clients, id)
		}
	}
}

// account returns the account with this name. The routes are the only way out of a
// new account. The caller holds mu.
func (a *authenticator) account(name string, routes []subjects.Route) (*server.Account, error) {
	if account, ok := a.accounts[name]; ok {
		return account, nil
	}
	owner := a.server.GlobalAccount()
	account, _ := a.server.LookupOrRegisterAccount(name)
	for _, r := range routes {
		err := owner.AddServiceExport(r.To, []*server.Account{account})
		if err == nil {
			err = account.AddServiceImport(owner, r.From, r.To)
		}
		if err != nil {
			return nil, fmt.Errorf("account %s: %s: %w", name, r.From, err)
		}
	}
	a.accounts[name] = account
	return account, nil
}

// watch disconnects clients whose key was removed. It returns when stop is closed.
func (a *authenticator) watch(stop <-chan struct{}) {
	tick := time.NewTicker(revokeEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			a.revoke()
		}
	}
}

func (a *authenticator) revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget()
	for id, r := range a.clients {
		if r.key == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(tenantDir(a.dir), r.key+tenantEnding)); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := a.server.DisconnectClientByID(id); err == nil {
			a.log.Info("broker disconnected a client with a removed key", "key", r.key)
		}
		delete(a.clients, id)
	}
}
