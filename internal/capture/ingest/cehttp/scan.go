package cehttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
)

type scanner struct {
	in     *bufio.Reader
	limit  int   // of an event
	offset int64 // of the next byte
	line   int   // of the next byte, from 1
	opened bool
}

// eventText is the text of one event. The scanner does not reuse its memory.
type eventText struct {
	text   []byte
	offset int64
	line   int
}

func newScanner(body io.Reader, limit int) *scanner {
	return &scanner{in: bufio.NewReaderSize(body, 64<<10), limit: limit, line: 1}
}

var (
	errNoArray  = errors.New("not a JSON array")
	errOpen     = errors.New("the array does not end")
	errCut      = errors.New("the event does not end")
	errNoComma  = errors.New("no comma behind an event")
	errMore     = errors.New("more after the array")
	errTooLarge = errors.New("too large")
)

func (s *scanner) fault(err error, index int) error {
	isOfArray := errors.Is(err, errNoArray) || errors.Is(err, errOpen) || errors.Is(err, errMore)
	var e *Error
	switch {
	case errors.Is(err, errTooLarge):
		e = tooLarge(s.limit)
	case isOfArray, errors.Is(err, errCut), errors.Is(err, errNoComma):
		e = refuse(http.StatusBadRequest, "%s", err.Error())
	default:
		e = BodyError(err)
	}
	if !isOfArray {
		e.Index = index
	}
	e.Line, e.Offset = s.line, int(s.offset)
	return e
}

func (s *scanner) element() (eventText, error) {
	c, err := s.skipSpace()
	if !s.opened {
		if err == nil && c != '[' || errors.Is(err, io.EOF) {
			return eventText{}, errNoArray
		}
		if err != nil {
			return eventText{}, err
		}
		s.opened = true
		s.take()
		if c, err = s.skipSpace(); err == nil && c == ']' {
			return eventText{}, s.end()
		}
		return s.value(err)
	}
	switch {
	case errors.Is(err, io.EOF):
		return eventText{}, errOpen
	case err != nil:
		return eventText{}, err
	case c == ']':
		return eventText{}, s.end()
	case c != ',':
		return eventText{}, errNoComma
	}
	s.take()
	_, err = s.skipSpace()
	return s.value(err)
}

func (s *scanner) end() error {
	s.take()
	if _, err := s.skipSpace(); err != nil {
		return err
	}
	return errMore
}

func (s *scanner) value(prior error) (eventText, error) {
	if errors.Is(prior, io.EOF) {
		return eventText{}, errOpen
	}
	if prior != nil {
		return eventText{}, prior
	}
	p := eventText{offset: s.offset, line: s.line}
	var at nesting
	for {
		c, err := s.peek()
		switch {
		case errors.Is(err, io.EOF):
			return p, errCut
		case err != nil:
			return p, err
		case at.endsBefore(c):
			return p, nil
		case len(p.text) >= s.limit:
			return p, errTooLarge
		}
		p.text = append(p.text, c)
		s.take()
		if at.endsWith(c) {
			return p, nil
		}
	}
}

type nesting struct {
	depth           int
	quoted, escaped bool
}

func (n *nesting) endsBefore(c byte) bool {
	return n.depth == 0 && !n.quoted && (c == ',' || c == ']' || isSpace(c))
}

func (n *nesting) endsWith(c byte) bool {
	if n.quoted {
		n.quoted = n.escaped || c != '"'
		n.escaped = !n.escaped && c == '\\'
		return false
	}
	switch c {
	case '"':
		n.quoted = true
	case '{', '[':
		n.depth++
	case '}', ']':
		n.depth--
		return n.depth <= 0
	}
	return false
}

func (s *scanner) row() (eventText, error) {
	if _, err := s.skipSpace(); err != nil {
		return eventText{}, err
	}
	p := eventText{offset: s.offset, line: s.line}
	for {
		c, err := s.peek()
		switch {
		case errors.Is(err, io.EOF), err == nil && c == '\n':
			p.text = bytes.TrimRight(p.text, " \t\r")
			return p, nil
		case err != nil:
			return p, err
		case len(p.text) >= s.limit:
			return p, errTooLarge
		}
		p.text = append(p.text, c)
		s.take()
	}
}

func (s *scanner) peek() (byte, error) {
	b, err := s.in.Peek(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (s *scanner) take() {
	c, err := s.in.ReadByte()
	if err != nil {
		return // unreachable: the byte is in the buffer
	}
	s.offset++
	if c == '\n' {
		s.line++
	}
}

func (s *scanner) skipSpace() (byte, error) {
	for {
		c, err := s.peek()
		if err != nil || !isSpace(c) {
			return c, err
		}
		s.take()
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
