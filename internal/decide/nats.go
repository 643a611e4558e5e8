package decide

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// The service as NATS's own tools show it.
const (
	serviceName    = "hooktrail-decisions"
	serviceVersion = "1.0.0"
)

// DrainTime is how long decisions that are under way go on when a service ends.
// Then their hooks are cancelled, and what is known is the answer.
const DrainTime = 5 * time.Second

// Run answers requests over NATS until ctx ends. Then it takes no more, and
// returns when those under way are answered. It runs once.
func (s *Service) Run(ctx context.Context, nc *nats.Conn) error {
	subject := s.opts.Space.AllDecisions()
	if s.opts.Tenant != "" {
		var err error
		if subject, err = s.opts.Space.Decisions(s.opts.Tenant); err != nil {
			return fmt.Errorf("decision service: %w", err)
		}
	}
	service, err := micro.AddService(nc, micro.Config{
		Name: serviceName, Version: serviceVersion, QueueGroup: subjects.DecisionQueue,
		Description: "what the hooks of Hooktrail decide about a document",
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			s.opts.Logger.WarnContext(ctx, "decision service reported an error", "error", err.Description)
		},
	})
	if err != nil {
		return fmt.Errorf("add decision service: %w", err)
	}
	answering, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	handler := micro.HandlerFunc(func(req micro.Request) { s.take(answering, nc, req) })
	if err := service.AddEndpoint("decide", handler, micro.WithEndpointSubject(subject)); err != nil {
		return errors.Join(fmt.Errorf("add decision service: %w", err), service.Stop())
	}
	s.opts.Logger.InfoContext(ctx, "decision service listening", "subject", subject)
	<-ctx.Done()
	err = service.Stop()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	defer time.AfterFunc(DrainTime, cancel).Stop()
	s.open.Wait()
	if err != nil {
		return fmt.Errorf("stop decision service: %w", err)
	}
	return nil
}

// take answers a request beside the subscription, which goes on to the next one.
func (s *Service) take(ctx context.Context, nc *nats.Conn, req micro.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.reject(ctx, req, errClosing)
		return
	}
	s.open.Go(func() { s.answer(ctx, nc, req) })
}

func (s *Service) answer(ctx context.Context, nc *nats.Conn, req micro.Request) {
	tenant, err := s.opts.Space.DecisionTenant(req.Subject())
	if err != nil {
		s.reject(ctx, req, &refusal{http.StatusBadRequest, err.Error()})
		return
	}
	outcome, err := s.decide(ctx, req.Data(), tenant, subjects.Timeout(req.Headers(), s.opts.Timeout))
	if err != nil {
		s.reject(ctx, req, err)
		return
	}
	if int64(len(outcome)) > nc.MaxPayload() {
		s.reject(ctx, req, &refusal{http.StatusRequestEntityTooLarge, "the outcome is too large for NATS"})
		return
	}
	if err := req.Respond([]byte(outcome)); err != nil {
		s.opts.Logger.WarnContext(ctx, "decision not answered", "error", err)
	}
}

func (s *Service) reject(ctx context.Context, req micro.Request, err error) {
	why := refused(err)
	if why.status >= http.StatusInternalServerError {
		s.opts.Logger.WarnContext(ctx, "decision refused", "status", why.status, "error", why)
	}
	if err := req.Error(strconv.Itoa(why.status), why.detail, nil); err != nil {
		s.opts.Logger.WarnContext(ctx, "refusal not answered", "error", err)
	}
}
