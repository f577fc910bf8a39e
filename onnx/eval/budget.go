package eval

import (
	"context"
	"fmt"
)

// Budget bounds the work of all who look at one model: every evaluator of it, and
// whoever walks its graph. A step is a node evaluated or met, or as many elements as
// are computed in the time of one.
type Budget struct {
	// What says what is given up when the budget is used up, for the message.
	What string

	ctx         context.Context
	spent, most int64
	polled      int64 // steps at which the context was last looked at
}

// elementsAStep is how many elements of a value count as one step.
const elementsAStep = 8

// stepsBetweenPolls is how many steps are made before the context is asked again:
// about a millisecond.
const stepsBetweenPolls = 1 << 14

// NewBudget is a budget of so many steps, which also ends when the context does.
func NewBudget(ctx context.Context, steps int64) *Budget {
	return &Budget{ctx: ctx, most: steps}
}

// Allow adds steps, for work that was asked for beyond looking at a graph.
func (b *Budget) Allow(steps int64) {
	if b != nil {
		b.most += steps
	}
}

// Spent is what Spend panics with when a budget is used up or its context has ended:
// questions about a graph have no place for an error. Whoever asks them, recovers it.
type Spent struct {
	// Err is that of the context, nil where the budget is used up.
	Err   error
	Steps int64
	What  string
}

// Error says what was given up.
func (s *Spent) Error() string {
	if s.Err != nil {
		return s.Err.Error()
	}
	what := s.What
	if what == "" {
		what = "looking at it"
	}
	return fmt.Sprintf("the graph is too large to be looked at whole: %s was given up after %d steps", what, s.Steps)
}

// Unwrap is the error of the context that has ended.
func (s *Spent) Unwrap() error { return s.Err }

// Abandoned marks what may be recovered: see position.Abandoned.
func (s *Spent) Abandoned() {}

// Spend counts n steps. It panics with a *Spent where there are no more.
func (b *Budget) Spend(n int) {
	if b == nil {
		return
	}
	b.spent += int64(n)
	if b.spent > b.most {
		panic(&Spent{Steps: b.most, What: b.What})
	}
	if b.spent-b.polled >= stepsBetweenPolls {
		b.polled = b.spent
		if err := b.ctx.Err(); err != nil {
			panic(&Spent{Err: err})
		}
	}
}

// Grant allows n steps more.
func (b *Budget) Grant(n int64) {
	if b != nil {
		b.most += n
	}
}

// Steps is how many steps were made so far.
func (b *Budget) Steps() int64 {
	if b == nil {
		return 0
	}
	return b.spent
}
