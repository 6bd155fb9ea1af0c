// Stands for the object file that a generator of bindings makes: `plugin build` puts the types in itself.
void __component_type_object_force_link_file_tool(void) {}
