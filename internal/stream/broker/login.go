package broker

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Login contains the credentials for an external broker, unless they are part of the URL.
type Login struct {
	Creds string // file with a user's JWT and seed
	NKey  string // file with a user's seed
	CA    string // file with the certificates that verify the server
	Cert  string // file with the client's certificate
	Key   string // file with the key of the certificate
}

func (l Login) validate() error {
	switch {
	case l.Creds != "" && l.NKey != "":
		return errors.New("--nats-creds and --nats-nkey: use only one of them")
	case (l.Cert == "") != (l.Key == ""):
		return errors.New("--nats-cert and --nats-key: both are needed")
	}
	return nil
}

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

func (o Options) external() (address string, options []nats.Option, err error) {
	options, err = o.Login.options()
	if err == nil && o.Role != subjects.Owner && !strings.HasPrefix(o.URL, contextURL) {
		options = append(options, nats.CustomInboxPrefix(ExternalInbox(o.Role)))
	}
	return o.URL, append(options, signNoncesOnly), err
}

// signNoncesOnly refuses to sign texts with a line break, because a hostile server could ask for
// the signature of a grant instead of a nonce.
func signNoncesOnly(o *nats.Options) error {
	sign := o.SignatureCB
	if sign == nil {
		return nil
	}
	o.SignatureCB = func(nonce []byte) ([]byte, error) {
		if bytes.ContainsRune(nonce, '\n') {
			return nil, errors.New("the server asks for the signature of a text that is no nonce")
		}
		return sign(nonce)
	}
	return nil
}

// ExternalInbox returns the prefix of the subjects on which clients of the role receive replies. It
// begins with _INBOX, to which users of an external broker can usually subscribe.
func ExternalInbox(role subjects.Role) string {
	return subjects.LoopbackInbox + "." + string(role)
}

const (
	serviceUser  = "hooktrail"
	loopbackUser = "loopback"
)

func ownerLogin(dir string) ([]nats.Option, error) {
	secret, err := os.ReadFile(filepath.Join(dir, "secret"))
	if err != nil {
		return nil, fmt.Errorf("broker secret: %w", err)
	}
	return ownerOptions(string(secret)), nil
}

func ownerOptions(secret string) []nats.Option {
	return []nats.Option{nats.UserInfo(serviceUser, secret), nats.CustomInboxPrefix(subjects.ServiceInbox + ".owner")}
}

func roleLogin(dir string, opts Options) ([]nats.Option, error) {
	name, err := keyName(opts.Space, opts.Role, opts.Tenant)
	if err != nil {
		return nil, err
	}
	file, err := loadKey(dir, name)
	if err != nil {
		return nil, err
	}
	key, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", file, err)
	}
	return []nats.Option{key, nats.CustomInboxPrefix(inboxOf(opts.Role))}, nil
}

func loadSecret(dir string) (string, error) {
	path := filepath.Join(dir, "secret")
	data, err := os.ReadFile(path)
	if err == nil && len(data) > 0 {
		return string(data), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("broker secret: %w", err)
	}
	secret := rand.Text()
	if err := atomicfile.Write(path, []byte(secret)); err != nil {
		return "", fmt.Errorf("broker secret: %w", err)
	}
	return secret, nil
}
