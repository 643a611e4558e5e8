package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Options selects and configures a broker.
type Options struct {
	// DataDir is the directory of the embedded server. For an external broker, it stores the name
	// of the broker. It is optional if URL is set.
	DataDir string
	// URL is the address of an external broker, or nats://context:NAME for a context of the nats
	// command. If it is empty, the embedded server is used.
	URL    string
	Login  Login  // credentials for URL
	Name   string // name of the connection, such as "auditor"
	Listen string // address of the embedded server, on the loopback; "127.0.0.1:0" by default
	Space  subjects.Space

	// Role determines the rights of the connection. The default is all rights. A consumer may only
	// read the messages of Tenant if that is set.
	Role   subjects.Role
	Tenant string

	Auth AuthMode

	MaxStore int64 // size of the embedded server's store; 0 means most of the free disk space
	// StreamMaxBytes is the maximum size of the event stream. 0 keeps the size of an existing
	// stream.
	StreamMaxBytes int64
	Replicas       int  // replicas of new streams on a cluster; 0 means 1
	AllowTamper    bool // only for tests: new streams allow deletions

	// Later lets Open return before an external broker is available or answers. The connection is
	// then made in the background.
	Later          bool
	ConnectTimeout time.Duration // limit for Open; 15 s by default
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
