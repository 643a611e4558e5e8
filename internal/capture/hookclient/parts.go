package hookclient

import (
	"context"
	"errors"
	"net/url"

	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Parts are functions of the hook command that need large packages such as net/http. hooktrail-hook
// does not link these packages, so that it starts in a few milliseconds.
type Parts struct {
	// Load reads the hooks file at path and registers its hooks.
	Load func(path string, r *hooks.Registry) error
	// Post sends req to the publisher at the given URL. It calls started when the response begins.
	Post func(ctx context.Context, base *url.URL, req hooksocket.Request, started func()) (hooksocket.Response, error)
}

var errNoParts = errors.New("this program needs the program publisher for --hooks and for --publisher with http")
