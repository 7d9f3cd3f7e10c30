"""Rules of turn taking: one small class each, pure logic, tested without sound."""
