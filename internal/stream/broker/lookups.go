package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

const lookupTimeout = 2 * time.Second

func guardLookups(srv *server.Server, secret string, space subjects.Space, log *slog.Logger) (*nats.Conn, error) {
	options := append(ownerOptions(secret), nats.InProcessServer(srv), nats.Name("hooktrail (lookups)"))
	nc, err := nats.Connect("", options...)
	if err != nil {
		return nil, fmt.Errorf("guard lookups: %w", err)
	}
	_, err = nc.Subscribe(subjects.GuardedLookups(space), func(m *nats.Msg) {
		if m.Reply == "" {
			return
		}
		// The stream cannot answer to m.Reply, which belongs to another account. Request the answer
		// here and send it on.
		answer := &nats.Msg{Header: nats.Header{"Status": {"408"}, "Description": {"A lookup names one chain"}}}
		if to, ok := subjects.ChainLookup(space, m.Subject); ok {
			found, err := nc.RequestMsg(&nats.Msg{Subject: to, Header: m.Header, Data: m.Data}, lookupTimeout)
			if err != nil {
				log.Debug("lookup not answered", "error", err)
				return
			}
			answer.Header, answer.Data = found.Header, found.Data
		}
		answer.Subject = m.Reply
		if err := nc.PublishMsg(answer); err != nil {
			log.Debug("lookup not answered", "error", err)
		}
	})
	if err = errors.Join(err, nc.Flush()); err != nil {
		nc.Close()
		return nil, fmt.Errorf("guard lookups: %w", err)
	}
	return nc, nil
}
