package events

import "strconv"

const maxDepth = 512

// scanner rejects invalid UTF-8 and lone surrogates, because other readers would silently replace
// them.
type scanner struct {
	data  []byte
	pos   int
	space bool // found white space between tokens
}

func (s *scanner) fail(reason string) error { return s.failAt(s.pos, reason) }

func (s *scanner) failAt(pos int, reason string) error {
	return &InvalidError{Offset: pos, Reason: reason}
}

func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.space = true
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) take(c byte) error {
	if s.peek() != c {
		return s.unexpected("want " + strconv.QuoteRune(rune(c)))
	}
	s.pos++
	return nil
}

func (s *scanner) unexpected(want string) error {
	if s.pos >= len(s.data) {
		return s.fail("unexpected end, " + want)
	}
	return s.fail("unexpected byte " + strconv.QuoteRuneToASCII(rune(s.data[s.pos])) + ", " + want)
}

// The function member must read the value that follows the name.
func (s *scanner) object(member func(name []byte) error) error {
	if err := s.take('{'); err != nil {
		return err
	}
	if s.peek() == '}' {
		s.pos++
		return nil
	}
	for {
		name, err := s.name()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
		done, err := s.next('}')
		if done || err != nil {
			return err
		}
	}
}

func (s *scanner) name() ([]byte, error) {
	if s.peek() != '"' {
		return nil, s.unexpected("want a name in quotes")
	}
	name, escaped, err := s.text()
	if err != nil {
		return nil, err
	}
	if escaped {
		name = unescape(name)
	}
	return name, s.take(':')
}

func (s *scanner) next(end byte) (done bool, err error) {
	switch s.peek() {
	case ',':
		s.pos++
		return false, nil
	case end:
		s.pos++
		return true, nil
	}
	return false, s.unexpected("want ',' or " + strconv.QuoteRune(rune(end)))
}

func (s *scanner) value(depth int) error {
	switch c := s.peek(); c {
	case '{', '[':
		return s.nested(c, depth)
	case '"':
		_, _, err := s.text()
		return err
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		_, err := s.number()
		return err
	}
}

func (s *scanner) nested(open byte, depth int) error {
	if depth >= maxDepth {
		return s.fail("nested more than " + strconv.Itoa(maxDepth) + " deep")
	}
	end := open + 2 // in ASCII, ']' and '}' are two above '[' and '{'
	s.pos++
	if s.peek() == end {
		s.pos++
		return nil
	}
	for {
		if open == '{' {
			if s.peek() != '"' {
				return s.unexpected("want a name in quotes")
			}
			if _, _, err := s.text(); err != nil {
				return err
			}
			if err := s.take(':'); err != nil {
				return err
			}
		}
		if err := s.value(depth + 1); err != nil {
			return err
		}
		done, err := s.next(end)
		if done || err != nil {
			return err
		}
	}
}

func (s *scanner) literal(want string) error {
	if end := s.pos + len(want); end <= len(s.data) && string(s.data[s.pos:end]) == want {
		s.pos = end
		return nil
	}
	return s.unexpected("want a value")
}

func (s *scanner) number() ([]byte, error) {
	start := s.pos
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if !s.digits() {
		if s.pos == start {
			return nil, s.unexpected("want a value")
		}
		return nil, s.unexpected("want a digit")
	}
	if s.at('.') {
		s.pos++
		if !s.digits() {
			return nil, s.unexpected("want a digit")
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if !s.digits() {
			return nil, s.unexpected("want a digit")
		}
	}
	return s.data[start:s.pos], nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && isDigit(s.data[s.pos]) {
		s.pos++
	}
	return s.pos > start
}
