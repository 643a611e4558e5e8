package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Options choose and configure a broker.
type Options struct {
	DataDir string // the embedded server keeps its store in DataDir/nats
	URL     string // external broker, or nats://context:NAME for a NATS context; empty means embedded
	Login   Login  // at URL
	Name    string // of the connection: "auditor"
	Listen  string // of the embedded server, "127.0.0.1:0" by default; must be a loopback address
	Space   subjects.Space

	// Role sets the rights of the connection at the embedded server. The zero Role has
	// all rights. Tenant restricts a consumer to one tenant.
	Role   subjects.Role
	Tenant string

	// Auth decides whether the embedded server accepts clients without credentials.
	Auth AuthMode

	MaxStore       int64 // of the embedded server; 0 means most of the free disk space
	StreamMaxBytes int64 // of the event stream; 0 keeps it, or means a share of the disk for a new stream
	Replicas       int   // of new streams on a cluster; 0 means 1
	AllowTamper    bool  // tests only: new streams lack the deny flags

	// Later lets Open return while an external broker is unavailable. The Broker then
	// connects in the background.
	Later          bool
	ConnectTimeout time.Duration // limit of Open, 15 s by default
	Logger         *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "hooktrail"
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 15 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate reports the first invalid option.
func (o Options) Validate() error {
	switch {
	case o.URL == "" && o.DataDir == "":
		return errors.New("options: neither URL nor DataDir is set")
	case o.MaxStore != 0 && o.MaxStore < smallestStream+otherStreams:
		return fmt.Errorf("options: MaxStore is %d, at least %d are needed", o.MaxStore, smallestStream+otherStreams)
	case o.StreamMaxBytes < 0:
		return fmt.Errorf("options: StreamMaxBytes is %d", o.StreamMaxBytes)
	}
	if err := o.Auth.validate(); err != nil {
		return err
	}
	if o.URL == "" {
		_, _, err := loopback(o.Listen)
		return err
	}
	return o.Login.validate()
}
