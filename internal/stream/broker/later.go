package broker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// settleOrLater settles the streams. With [Options.Later] it replaces the connection by one that
// settles in the background if the server accepts connections but does not answer, for example
// because a cluster has no leader.
func (b *Broker) settleOrLater(ctx context.Context) error {
	err := b.settleJoined(ctx)
	if err == nil || b.opts.URL == "" || !b.opts.Later || !isUnavailable(err) {
		return err
	}
	b.conn.nc.Close()
	b.conn = newConnection(b.opts, b.health)
	if err := b.conn.dialLater(); err != nil {
		return err
	}
	b.health.warn(ctx, warnServer, err.Error())
	return nil
}

// isUnavailable reports whether the server may recover from err without a change by a person.
func isUnavailable(err error) bool {
	for _, passing := range []error{
		errLost, context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrConnectionClosed, nats.ErrDisconnected,
		jetstream.ErrNoStreamResponse, jetstream.ErrJetStreamNotEnabled,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && api.Code >= http.StatusInternalServerError && api.ErrorCode != errCodeResources && api.ErrorCode != errCodeStorage
}

// dialLater delays the connection until openGate is called, because the server must be checked
// first.
func (c *connection) dialLater() error {
	g := new(gate)
	if err := c.dialExternal(nats.RetryOnFailedConnect(true), g.install); err != nil {
		return fmt.Errorf("connect to %s: %w", redactURL(c.opts.URL), err)
	}
	c.gate = g
	return nil
}

func (c *connection) openGate() {
	c.gate.isOpen.Store(true)
	if c.nc.IsReconnecting() {
		_ = c.nc.ForceReconnect() // fails only if the connection is closed
	}
}

func (b *Broker) settleLater(ctx context.Context) {
	if b.conn.gate == nil {
		return
	}
	probe := newConnection(b.opts, b.health)
	defer func() { probe.nc.Close() }() // accepts nil
	for failures := 0; ctx.Err() == nil; failures++ {
		if b.probe(ctx, probe) {
			b.conn.openGate()
			return
		}
		if probe.nc != nil && probe.nc.IsClosed() {
			probe = newConnection(b.opts, b.health)
		}
		select {
		case <-ctx.Done():
		case <-time.After(reconnectDelay(failures)):
		}
	}
}

func (b *Broker) probe(ctx context.Context, c *connection) (settled bool) {
	if c.nc == nil {
		if err := c.dialExternal(nats.NoReconnect()); err != nil {
			c.reconnectFailed(err)
			return false
		}
	}
	settling, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	err := b.settle(settling, c)
	switch {
	case err == nil:
		b.health.warn(ctx, warnServer, "")
	case ctx.Err() == nil && !c.nc.IsClosed():
		b.health.warn(ctx, warnServer, err.Error())
	}
	return err == nil
}
