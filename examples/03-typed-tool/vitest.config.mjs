// A project of its own, with the settings that come with the test runner.

export default {};
