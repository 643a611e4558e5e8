package broker

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

func (o Options) refused(refusal error) error {
	text := refusal.Error()
	if strings.Contains(text, `"$JS.API.STREAM.CREATE.`) || strings.Contains(text, `"$JS.API.STREAM.UPDATE.`) {
		return fmt.Errorf("streams: %w; create them first with hooktrail nats init and the login of the owner", refusal)
	}
	return fmt.Errorf("streams: %w; %s", refusal, o.wrongLogin())
}

func (o Options) wrongLogin() string {
	return fmt.Sprintf("%s has other rights than the role %s: %s", o.login(), cmp.Or(string(o.Role), ownerKey), o.rightLogin())
}

func (o Options) rightLogin() string {
	role := cmp.Or(string(o.Role), ownerKey)
	file := role + keyEnding
	if o.Role != subjects.Owner {
		if name, err := keyName(o.Space, o.Role, o.Tenant); err == nil {
			file = name + keyEnding
		}
	}
	text := fmt.Sprintf("use --nats-nkey creds/%s/%s, which hooktrail nats creds --dir creds writes", strings.TrimSuffix(file, keyEnding), file)
	if o.Role != subjects.Owner {
		text += ", or the file nats/keys/" + file + " of the data directory that runs an embedded server"
	}
	return text + "; a key of hooktrail tenant add is only for engines with the Go package publish"
}

// login must not contain secrets, because error messages show it.
func (o Options) login() string {
	switch {
	case o.URL == "":
		return "the login"
	case o.Login.Creds != "":
		return "the login --nats-creds " + o.Login.Creds
	case o.Login.NKey != "":
		text := "the login --nats-nkey " + o.Login.NKey
		if key, err := publicKey(o.Login.NKey); err == nil {
			text += " (key " + key + ")"
		}
		return text
	case strings.HasPrefix(o.URL, contextURL):
		return "the login of " + o.URL
	}
	if u, err := url.Parse(o.URL); err == nil && u.User != nil {
		return "the user of --nats-url"
	}
	return "a client without --nats-nkey and --nats-creds"
}

func (o Options) unknownLogin() string {
	return fmt.Sprintf("the server does not know %s: %s", o.login(), o.rightLogin())
}
