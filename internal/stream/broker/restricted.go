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

const localAccount = "LOCAL"

// Limits on the open connections of restricted clients. The remaining 128 connections are for
// services.
const (
	maxOfAccount  = 256
	maxRestricted = maxClients - 128
)

const revokeEvery = time.Second

// restrictedClient identifies a client with few rights. It has an account to itself, so that it
// cannot read the replies to other clients.
type restrictedClient struct {
	account string // first part of the account's name
	number  int    // last part of the account's name, unique among open connections
	key     string // public key of an engine, or ""
}

var errFull = errors.New("too many connections of this account or of all restricted clients")

func (a *authenticator) admit(c server.ClientAuthentication, name string, r restrictedClient, routes []subjects.Route) (*server.User, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.full(r.account) {
		a.forget()
		if a.full(r.account) {
			return nil, errFull
		}
	}
	r.number = a.freeNumber(r.account)
	account, err := a.account(fmt.Sprintf("%s/%d", r.account, r.number), subjects.GuardLookups(a.space, routes))
	if err != nil {
		return nil, err
	}
	a.clients[c.GetID()] = r
	return &server.User{Username: name, Account: account, Permissions: permissions(subjects.RouteRights(a.space, routes))}, nil
}

// The caller must hold a.mu.
func (a *authenticator) full(account string) bool {
	n := 0
	for _, r := range a.clients {
		if r.account == account {
			n++
		}
	}
	return n >= maxOfAccount || len(a.clients) >= maxRestricted
}

// The caller must hold a.mu.
func (a *authenticator) freeNumber(account string) int {
	taken := map[int]bool{}
	for _, r := range a.clients {
		if r.account == account {
			taken[r.number] = true
		}
	}
	n := 0
	for taken[n] {
		n++
	}
	return n
}

// forget drops the clients whose connections are closed, because the server does not report closed
// connections. The caller must hold a.mu.
func (a *authenticator) forget() {
	for id := range a.clients {
		if a.server.GetClient(id) == nil {
			delete(a.clients, id)
		}
	}
}

// The caller must hold a.mu.
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
