package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// serverLogger hands the server's messages to slog and keeps the fatal one,
// after which a server in a program of its own would have ended.
type serverLogger struct {
	log *slog.Logger

	mu  sync.Mutex // guards err
	err error
}

func (l *serverLogger) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Noticef implements server.Logger.
func (l *serverLogger) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v...) }

// Warnf implements server.Logger. That the server knows its password in plain
// text is no news to who made it, at random, for this server alone.
func (l *serverLogger) Warnf(format string, v ...any) {
	level := slog.LevelWarn
	if strings.HasPrefix(format, "Plaintext passwords detected") {
		level = slog.LevelDebug
	}
	l.say(level, format, v...)
}

// Errorf implements server.Logger.
func (l *serverLogger) Errorf(format string, v ...any) { l.say(slog.LevelError, format, v...) }

// Debugf implements server.Logger.
func (l *serverLogger) Debugf(format string, v ...any) { l.say(slog.LevelDebug, format, v...) }

// Tracef implements server.Logger.
func (l *serverLogger) Tracef(string, ...any) {}

// Fatalf implements server.Logger.
func (l *serverLogger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	l.err = errors.Join(l.err, fmt.Errorf(format, v...))
	l.mu.Unlock()
	l.say(slog.LevelError, format, v...)
}

func (l *serverLogger) say(level slog.Level, format string, v ...any) {
	l.log.Log(context.Background(), level, "embedded broker said", "text", fmt.Sprintf(format, v...))
}
