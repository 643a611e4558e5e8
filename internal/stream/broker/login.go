package broker

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Login is who connects to a broker elsewhere, and how. User and password, or a
// token, stand in the URL.
type Login struct {
	Creds string // file with a user's JWT and seed
	NKey  string // file with a user's seed
	CA    string // file with the certificates that the server's is checked with
	Cert  string // file with the client's certificate
	Key   string // file with its key
}

func (l Login) validate() error {
	switch {
	case l.Creds != "" && l.NKey != "":
		return errors.New("--nats-creds and --nats-nkey: only one of both can be used")
	case (l.Cert == "") != (l.Key == ""):
		return errors.New("--nats-cert and --nats-key: one needs the other")
	}
	return nil
}

// options returns what a connection needs for the login. A file that cannot be
// used is named.
func (l Login) options() ([]nats.Option, error) {
	var options []nats.Option
	for _, f := range []struct{ flag, file string }{
		{"--nats-creds", l.Creds}, {"--nats-nkey", l.NKey}, {"--nats-ca", l.CA}, {"--nats-cert", l.Cert}, {"--nats-key", l.Key},
	} {
		if f.file == "" {
			continue
		}
		if _, err := os.Stat(f.file); err != nil {
			return nil, fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	if l.Creds != "" {
		options = append(options, nats.UserCredentials(l.Creds))
	}
	if l.NKey != "" {
		key, err := nats.NkeyOptionFromSeed(l.NKey)
		if err != nil {
			return nil, fmt.Errorf("--nats-nkey: %s: %w", l.NKey, err)
		}
		options = append(options, key)
	}
	if l.CA != "" {
		options = append(options, nats.RootCAs(l.CA))
	}
	if l.Cert != "" {
		options = append(options, nats.ClientCert(l.Cert, l.Key))
	}
	return options, nil
}

// elsewhere returns what a connection to a broker elsewhere needs.
func (o Options) elsewhere() (address string, options []nats.Option, err error) {
	options, err = o.Login.options()
	if err == nil && o.Role != subjects.Owner && !strings.HasPrefix(o.URL, contextURL) {
		options = append(options, nats.CustomInboxPrefix(InboxElsewhere(o.Role)))
	}
	return o.URL, options, err
}

// InboxElsewhere is the inbox prefix of a role at a broker elsewhere, unless a
// NATS context has one. It is of the usual kind, so that usual rights are enough.
func InboxElsewhere(role subjects.Role) string {
	return subjects.LoopbackInbox + "." + string(role)
}
