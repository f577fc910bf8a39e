package position

// Assumer is implemented by models whose file names an architecture, by which is known what an
// engine computes of it.
type Assumer interface {
	// Assume takes a file of an architecture that is not known for one of another; files of known ones
	// stay what they are. The error is a *UsageError where there is no such architecture.
	Assume(like string) error
	// Assumption is the architecture that was assumed; "": none.
	Assumption() string
}

// AssumeAs has model m assume what another one does.
func AssumeAs(m, other Model) error {
	if a, ok := other.(Assumer); ok && a.Assumption() != "" {
		return Assume(m, a.Assumption())
	}
	return nil
}

// Assume has a model assume an architecture, where it can; "" is none.
func Assume(m Model, like string) error {
	if a, ok := m.(Assumer); ok && like != "" {
		return a.Assume(like)
	}
	return nil
}
