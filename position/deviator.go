package position

// Deviator is implemented by sites of which the architecture tells what engines compute otherwise.
type Deviator interface {
	Deviations() []string // identifiers of package deviation
}

// deviations are the IDs that a site's architecture tells.
func deviations(s Site) []string {
	if by, ok := s.(Deviator); ok {
		return by.Deviations()
	}
	return nil
}
