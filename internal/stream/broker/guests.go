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

// How many connections guests may have open, so that neither one account nor all
// of them leave none to the services.
const (
	maxOfAccount = 256
	maxGuests    = maxClients - 128
)

// revokeEvery is how often keys are looked for that were taken back.
const revokeEvery = time.Second

// guest is a connection in an account that is not the owner's: an engine of a
// tenant, or a local client without credentials. The server writes the answer to
// a request wherever it was asked to, with all rights in that account. So who is
// not trusted with the owner's has one of its own, with nothing in it but ways out.
type guest struct {
	account string
	key     string // of an engine
}

var errFull = errors.New("too many connections: of its account, or of all that are not services")

// admit returns the user of a guest with these ways out.
func (d *doorman) admit(c server.ClientAuthentication, name string, g guest, routes []subjects.Route) (*server.User, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full(g.account) {
		d.forget()
		if d.full(g.account) {
			return nil, errFull
		}
	}
	account, err := d.account(g.account, routes)
	if err != nil {
		return nil, err
	}
	d.guests[c.GetID()] = g
	return &server.User{Username: name, Account: account, Permissions: permissions(subjects.GuestRights(routes))}, nil
}

// full reports whether no more guests of an account are taken. The caller holds
// mu.
func (d *doorman) full(account string) bool {
	n := 0
	for _, g := range d.guests {
		if g.account == account {
			n++
		}
	}
	return n >= maxOfAccount || len(d.guests) >= maxGuests
}

// forget strikes off who has left. The caller holds mu.
func (d *doorman) forget() {
	for id := range d.guests {
		if d.server.GetClient(id) == nil {
			delete(d.guests, id)
		}
	}
}

// account returns an account of guests. What is published there goes nowhere but
// the ways out. The caller holds mu.
func (d *doorman) account(name string, routes []subjects.Route) (*server.Account, error) {
	if a, ok := d.accounts[name]; ok {
		return a, nil
	}
	owner := d.server.GlobalAccount()
	a, _ := d.server.LookupOrRegisterAccount(name)
	for _, r := range routes {
		err := owner.AddServiceExport(r.To, []*server.Account{a})
		if err == nil {
			err = a.AddServiceImport(owner, r.From, r.To)
		}
		if err != nil {
			return nil, fmt.Errorf("account %s: %s: %w", name, r.From, err)
		}
	}
	d.accounts[name] = a
	return a, nil
}

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
	d.forget()
	for id, g := range d.guests {
		if g.key == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(tenantDir(d.dir), g.key+tenantEnding)); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := d.server.DisconnectClientByID(id); err == nil {
			d.log.Info("broker cut off a client whose key was taken back", "key", g.key)
		}
		delete(d.guests, id)
	}
}
