package eval

// onceKey is a question about a value of a scope.
type onceKey struct{ question, name string }

// Once answers a question about a named value of a scope, and keeps the answer for who
// asks again. An answer may depend on nothing but the graph and what is known of its
// values; when a value is enlarged, questions are answered anew.
func Once[T any](s *Scope, question, name string, answer func() T) T {
	key := onceKey{question, name}
	if kept, ok := s.once[key]; ok {
		return kept.(T)
	}
	out := answer()
	if s.once == nil {
		s.once = map[onceKey]any{}
	}
	s.once[key] = out
	return out
}

// Ask answers a question about a value's content, and keeps the answer for who asks
// again: a constant is asked the same by each of its readers.
func Ask[T any](v *Value, question string, answer func() T) T {
	told := v.answered()
	if kept, ok := told.kept[question]; ok {
		return kept.(T)
	}
	out := answer()
	if told.kept == nil {
		told.kept = map[string]any{}
	}
	told.kept[question] = out
	return out
}
