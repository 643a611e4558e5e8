package decision

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

const (
	serviceName    = "hooktrail-decisions"
	serviceVersion = "1.0.0"
)

// DrainTime is how long running hooks may continue when the service stops. They are then cancelled.
const DrainTime = 5 * time.Second

const flushTimeout = time.Second

// Run answers requests over NATS until ctx ends and all open requests are answered. Call it only
// once.
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
		Description: "decisions of Hooktrail hooks about a document",
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
	// Wait for a response of the broker. After that response, no request is still on its way to
	// this service.
	if err := nc.FlushTimeout(flushTimeout); err != nil {
		s.opts.Logger.DebugContext(ctx, "decision service ended without broker", "error", err)
	}
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

func (s *Service) take(ctx context.Context, nc *nats.Conn, req micro.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.respond(ctx, nc, req, refusing(errClosing))
		return
	}
	s.open.Go(func() { s.respond(ctx, nc, req, s.answer(ctx, nc, req)) })
}

func (s *Service) answer(ctx context.Context, nc *nats.Conn, req micro.Request) *nats.Msg {
	tenant, err := s.opts.Space.DecisionTenant(req.Subject())
	if err != nil {
		return refusing(&refusal{http.StatusBadRequest, err.Error()})
	}
	outcome, err := s.decide(ctx, req.Data(), tenant, subjects.Timeout(req.Headers(), s.opts.Timeout))
	switch {
	case err != nil:
		why := refused(err)
		if why.status >= http.StatusInternalServerError {
			s.opts.Logger.WarnContext(ctx, "decision refused", "status", why.status, "error", why)
		}
		return refusing(why)
	case int64(len(outcome)) > nc.MaxPayload():
		return refusing(&refusal{http.StatusRequestEntityTooLarge, "the outcome is too large for NATS"})
	}
	return &nats.Msg{Data: []byte(outcome)}
}

func refusing(why *refusal) *nats.Msg {
	return &nats.Msg{Header: nats.Header{
		subjects.ServiceError:     {why.detail},
		subjects.ServiceErrorCode: {strconv.Itoa(why.status)},
	}}
}

// respond does not use req.Respond, because that works only until the handler of the request
// returns.
func (s *Service) respond(ctx context.Context, nc *nats.Conn, req micro.Request, answer *nats.Msg) {
	if answer.Subject = req.Reply(); answer.Subject == "" {
		return // the caller expects no response
	}
	if err := s.opts.Space.CheckReply(answer.Subject); err != nil {
		s.opts.Logger.WarnContext(ctx, "decision response not sent", "error", err)
		return
	}
	if err := nc.PublishMsg(answer); err != nil {
		s.opts.Logger.WarnContext(ctx, "decision response not sent", "error", err)
	}
}
